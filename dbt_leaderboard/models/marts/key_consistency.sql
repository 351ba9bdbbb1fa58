-- Agreement of the official keys over duplicate groups, compared by answer text. `independent_*` counts groups with at
-- least two distinct PDFs only: reading identical bytes twice proves nothing.
with every as (

    select * from {{ ref('stg_key_figures') }}
    union all
    select
        'all',
        coalesce(sum(groups), 0)::bigint,
        coalesce(sum(agreeing), 0)::bigint,
        coalesce(sum(independent_groups), 0)::bigint,
        coalesce(sum(independent_agreeing), 0)::bigint
    from {{ ref('stg_key_figures') }}

)

select
    scope,
    groups,
    groups - agreeing as flagged,
    {{ rate('agreeing', 'groups', 'consistency') }},
    independent_groups,
    independent_groups - independent_agreeing as independent_flagged,
    {{ rate('independent_agreeing', 'independent_groups', 'independent_consistency') }}
from every
order by scope
