select * from {{ source('raw', 'gradings') }}
