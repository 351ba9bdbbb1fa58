-- Every data-set version seen: its items, what is withdrawn of it, and how the keys are spread.
select
    dataset,
    dataset_version,
    bool_or(is_current) as is_current,
    count(*) as items,
    count(*) filter (where withdrawn) as withdrawn,
    count(*) filter (where not withdrawn) as scored,
    count(*) filter (where key = 'A') as key_a,
    count(*) filter (where key = 'B') as key_b,
    count(*) filter (where key = 'C') as key_c,
    count(*) filter (where key = 'D') as key_d
from {{ ref('stg_item_versions') }}
group by dataset, dataset_version
order by dataset, is_current desc, dataset_version
