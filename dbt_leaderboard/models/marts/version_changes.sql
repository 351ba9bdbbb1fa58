-- One row an earlier version of a data set beside the version of now: items that came, items that left, keys that
-- changed and items withdrawn since.
with earlier as (

    select distinct dataset, dataset_version from {{ ref('stg_item_versions') }} where not is_current

),

sides as (

    select
        earlier.dataset,
        earlier.dataset_version,
        items.item_id,
        max(items.key) filter (where not items.is_current) as key_before,
        max(items.key) filter (where items.is_current) as key_now,
        bool_or(items.withdrawn) filter (where not items.is_current) as out_before,
        bool_or(items.withdrawn) filter (where items.is_current) as out_now
    from earlier
    inner join {{ ref('stg_item_versions') }} as items
        on
            earlier.dataset = items.dataset
            and (items.is_current or earlier.dataset_version = items.dataset_version)
    group by earlier.dataset, earlier.dataset_version, items.item_id

)

select
    dataset,
    dataset_version,
    count(*) filter (where key_before is null) as added,
    count(*) filter (where key_now is null) as removed,
    count(*) filter (where key_before <> key_now) as rekeyed,
    count(*) filter (where key_before is not null and out_now and not out_before) as withdrawn_since
from sides
group by dataset, dataset_version
order by dataset, dataset_version
