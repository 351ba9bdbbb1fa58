-- One row an item whose key is another one now than in an earlier version of its data set.
select
    now.dataset,
    now.item_id,
    before.dataset_version as earlier_version,
    now.dataset_version,
    before.key as key_before,
    now.key
from {{ ref('stg_item_versions') }} as now
inner join {{ ref('stg_item_versions') }} as before
    on now.dataset = before.dataset and now.item_id = before.item_id and not before.is_current
where now.is_current and now.key <> before.key
order by now.dataset, now.item_id, before.dataset_version
