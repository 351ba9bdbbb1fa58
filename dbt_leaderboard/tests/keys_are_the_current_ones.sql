-- A response judged by another key than its item has now: the run must be scored again. A warning, because the mart is
-- right for the version it names; the figures are not those of the newest version.
{{ config(severity='warn') }}
select responses.run_id, responses.item_id, responses.key, versions.key as key_now
from {{ ref('stg_responses') }} as responses
inner join {{ ref('stg_item_versions') }} as versions on responses.item_id = versions.item_id and versions.is_current
where responses.key <> versions.key
