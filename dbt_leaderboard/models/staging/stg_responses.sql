select * from {{ source('raw', 'responses') }}
