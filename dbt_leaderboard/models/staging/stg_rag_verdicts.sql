select * from {{ source('raw', 'rag_verdicts') }}
