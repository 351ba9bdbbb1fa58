select * from {{ source('raw', 'protocols') }}
