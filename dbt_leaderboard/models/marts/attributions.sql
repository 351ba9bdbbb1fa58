-- The articles of every published item, asked of a model or not: what CC BY-SA 4.0 asks the board to name.
select * from {{ ref('stg_attributions') }}
order by dataset, url
