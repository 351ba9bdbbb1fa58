select * from {{ source('raw', 'apparatus_studies') }}
