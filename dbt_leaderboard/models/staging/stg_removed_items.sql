select * from {{ source('raw', 'removed_items') }}
