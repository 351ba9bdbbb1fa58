-- The texts of every published item that a response names, with where it was printed: what a page of an item shows.
select * from {{ ref('stg_item_texts') }}
-- By item: equal beginnings stand together, and a page reads its rows in one stretch.
order by item_id
