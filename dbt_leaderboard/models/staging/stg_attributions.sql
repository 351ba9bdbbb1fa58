select * from {{ source('raw', 'attributions') }}
