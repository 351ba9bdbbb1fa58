select * from {{ source('raw', 'model_annotations') }}
