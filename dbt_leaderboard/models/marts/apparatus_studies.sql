-- One row an apparatus study that was conducted: its result as JSON, from the files that the platform wrote. The studies
-- read raw tables and stored responses, never a table of the mart, so that the mart can hold them.
select
    study_id,
    payload,
    cast(json_extract(payload, '$.n') as bigint) as n,
    json_extract_string(payload, '$.labelled.en') as labelled
from {{ ref('stg_apparatus_studies') }}
order by study_id
