-- What became of every index row and every printed question, by scope and over all; `share` is of the section's total.
with every as (

    select scope, section, line, count from {{ ref('stg_build_accounting') }}
    union all
    select 'all', section, line, sum(count)::bigint
    from {{ ref('stg_build_accounting') }}
    group by section, line

)

select
    scope,
    section,
    line,
    count,
    {{ share('count', "max(count) filter (where line = 'total') over (partition by scope, section)") }} as share
from every
order by scope, section, line
