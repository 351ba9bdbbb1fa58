select * from {{ source('raw', 'submission_answers') }}
