select * from {{ source('raw', 'item_versions') }}
