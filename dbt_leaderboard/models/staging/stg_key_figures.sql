select * from {{ source('raw', 'key_figures') }}
