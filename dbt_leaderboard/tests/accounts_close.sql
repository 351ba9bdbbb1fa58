-- The lines of a section add up to its total, for every scope and over all; and a scope that has lines has a total.
select
    scope,
    section,
    max(count) filter (where line = 'total') as total,
    sum(count) filter (where line <> 'total') as parts
from {{ ref('build_accounting') }}
group by scope, section
having total is distinct from coalesce(parts, 0)
