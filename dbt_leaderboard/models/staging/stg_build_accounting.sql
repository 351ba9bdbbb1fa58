select * from {{ source('raw', 'build_accounting') }}
