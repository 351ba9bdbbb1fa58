select * from {{ source('raw', 'check_results') }}
