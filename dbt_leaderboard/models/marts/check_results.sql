-- The verdict of every check on every data set, with the manifest that it judged.
select * from {{ ref('stg_check_results') }}
order by dataset, check_name
