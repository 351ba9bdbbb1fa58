select * from {{ source('raw', 'run_scores') }}
