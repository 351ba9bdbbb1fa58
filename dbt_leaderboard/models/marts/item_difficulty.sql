-- One row a benchmark, protocol and item: how many complete runs pass it (in their first repeat), and what the others
-- answered.
-- Where a majority of the runs agrees on another letter than the key, look at the key (`key_is_suspect`): at least 8 runs
-- were read, and the 95 % Wilson interval of that letter's share of votes lies above one half. Twice the key's votes, the
-- rule tried first, fires by chance on hard items of a small board.
with votes as (

    select
        answers.benchmark,
        answers.protocol_name,
        answers.item_id,
        any_value(answers.subject) as subject,
        any_value(answers.year_roc) as year_roc,
        any_value(answers.key) as key,
        count(*) filter (where ranked_outcome <> 'error') as n,
        count(*) filter (where ranked_outcome = 'correct') as hits,
        count(*) filter (where lenient_outcome = 'correct') as lenient_hits,
        count(*) filter (where {{ is_parsed('ranked_outcome') }}) as parsed,
        count(*) filter (where ranked_answer = 'A') as chose_a,
        count(*) filter (where ranked_answer = 'B') as chose_b,
        count(*) filter (where ranked_answer = 'C') as chose_c,
        count(*) filter (where ranked_answer = 'D') as chose_d,
        count(*) filter (where ranked_outcome = 'error') as errors
    from {{ ref('int_answers') }} as answers
    inner join {{ ref('int_runs') }} as runs on answers.run_id = runs.run_id and runs.is_complete
    where answers.repeat = 0
    group by answers.benchmark, answers.protocol_name, answers.item_id

),

chosen as (

    select
        *,
        greatest(chose_a, chose_b, chose_c, chose_d) as most_votes,
        case greatest(chose_a, chose_b, chose_c, chose_d)
            when 0 then null
            when chose_a then 'A'
            when chose_b then 'B'
            when chose_c then 'C'
            when chose_d then 'D'
        end as chosen_most
    from votes

)

select
    benchmark,
    protocol_name,
    item_id,
    subject,
    year_roc,
    key,
    n,
    hits,
    {{ rate('hits', 'n', 'pass_rate') }},
    lenient_hits,
    parsed,
    errors,
    chose_a,
    chose_b,
    chose_c,
    chose_d,
    chosen_most,
    parsed >= 8 and chosen_most <> key and {{ wilson_low('most_votes', 'parsed') }} > 0.5 as key_is_suspect
from chosen
order by benchmark, protocol_name, item_id
