-- What the maintainer states of a model; null where nothing is stated.
select * from {{ ref('stg_model_cards') }}
order by model
