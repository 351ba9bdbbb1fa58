select * from {{ source('raw', 'model_cards') }}
