-- Every item that ever left a data set, the version that had it last, and why.
select * from {{ ref('stg_removed_items') }}
order by dataset, item_id
