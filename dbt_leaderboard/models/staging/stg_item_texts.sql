select * from {{ source('raw', 'item_texts') }}
