select * from {{ source('raw', 'rag_answers') }}
