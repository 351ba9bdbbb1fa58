-- One row a data set as it is now: its items and the sitting years that they come from.
select
    versions.dataset,
    versions.dataset_version,
    any_value(items.field) as field,
    count(*) as items,
    count(*) filter (where versions.withdrawn) as withdrawn,
    count(*) filter (where not versions.withdrawn) as scored,
    min(items.year_roc) as year_first,
    max(items.year_roc) as year_last,
    count(distinct items.year_roc) as years
from {{ ref('stg_item_versions') }} as versions
inner join {{ ref('stg_items') }} as items using (item_id)
where versions.is_current
group by versions.dataset, versions.dataset_version
order by versions.dataset
