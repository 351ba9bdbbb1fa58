select * from {{ source('raw', 'submission_provenance') }}
