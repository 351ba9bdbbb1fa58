-- Answers as bits, 60 items a row, so that 6,000 pairs of runs over 24,000 items are compared by counting bits (2 s)
-- instead of joining 140 million pairs of answers. An error is no answer and sets no bit. Of a
-- repeated run the first repeat is compared.
with numbered as (

    select
        benchmark,
        item_id,
        row_number() over (partition by benchmark order by item_id) - 1 as place
    from (select distinct benchmark, item_id from {{ ref('int_answers') }})

),

placed as (

    select
        answers.run_id,
        numbered.place // 60 as chunk,
        1::ubigint << (numbered.place % 60)::ubigint as item_bit,
        answers.ranked_outcome
    from {{ ref('int_answers') }} as answers
    inner join numbered on answers.benchmark = numbered.benchmark and answers.item_id = numbered.item_id
    where answers.repeat = 0 and answers.ranked_outcome <> 'error'

)

select
    run_id,
    chunk,
    bit_or(item_bit) as answered,
    bit_or(case when ranked_outcome = 'correct' then item_bit else 0::ubigint end) as correct,
    bit_or(case when {{ is_parsed('ranked_outcome') }} then item_bit else 0::ubigint end) as parsed
from placed
group by run_id, chunk
