select * from {{ source('raw', 'items') }}
