-- Every pair of complete runs of one benchmark and protocol on the items that both answered. McNemar's test on the
-- discordant items (opentwbench/statistics/paired.py states it, with sources; a test compares the two). The tail is
-- summed from its largest term down over 20 standard deviations, beyond which nothing is left to add.
with ranked_runs as (

    select * from {{ ref('int_runs') }} where is_current and is_complete

),

pairs as (

    select
        one.run_id as run_a,
        two.run_id as run_b,
        sum(bit_count(a.answered & b.answered))::bigint as n,
        sum(bit_count(a.correct & b.correct))::bigint as both_right,
        sum(bit_count(a.correct & b.answered & ~b.correct))::bigint as only_a,
        sum(bit_count(b.correct & a.answered & ~a.correct))::bigint as only_b,
        sum(bit_count(a.parsed & b.answered & ~b.parsed))::bigint as parsed_only_a,
        sum(bit_count(b.parsed & a.answered & ~a.parsed))::bigint as parsed_only_b
    from ranked_runs as one
    inner join ranked_runs as two
        on one.benchmark = two.benchmark and one.protocol_name = two.protocol_name and one.run_id < two.run_id
    inner join {{ ref('int_answer_bits') }} as a on one.run_id = a.run_id
    inner join {{ ref('int_answer_bits') }} as b on two.run_id = b.run_id and a.chunk = b.chunk
    group by one.run_id, two.run_id

),

counts as (

    select distinct only_a + only_b as discordant, least(only_a, only_b) as fewer
    from pairs
    where only_a + only_b > 0

),

terms as (

    select
        discordant,
        fewer,
        unnest(range(greatest(0, fewer - 40 - (10 * sqrt(discordant))::bigint), fewer + 1)) as k
    from counts

),

tails as (

    select
        discordant,
        fewer,
        sum(exp(
            lgamma(discordant + 1.0) - lgamma(k + 1.0) - lgamma(discordant - k + 1.0) - discordant * ln(2.0)
        )) as tail
    from terms
    group by discordant, fewer

),

tested as (

    select
        pairs.*,
        only_a + only_b as discordant,
        tails.tail,
        exp(
            lgamma(only_a + only_b + 1.0) - lgamma(only_a + 1.0) - lgamma(only_b + 1.0) - (only_a + only_b) * ln(2.0)
        ) as point
    from pairs
    left join tails on pairs.only_a + pairs.only_b = tails.discordant and least(only_a, only_b) = tails.fewer

)

select
    tested.run_a,
    one.model as model_a,
    tested.run_b,
    two.model as model_b,
    one.benchmark,
    one.protocol_name,
    one.protocol_id as protocol_id_a,
    two.protocol_id as protocol_id_b,
    one.serving_precision as serving_precision_a,
    two.serving_precision as serving_precision_b,
    tested.n,
    both_right,
    only_a,
    only_b,
    discordant,
    {{ share('(only_a - only_b)', 'tested.n') }} as difference,
    case when only_a = only_b then 1.0 else least(1.0, 2 * tail) end as mcnemar_exact_p,
    case
        when discordant = 0 then 1.0
        when only_a = only_b then 1.0 - point / 2
        else greatest(0.0, 2 * tail - point)
    end as mcnemar_mid_p,
    parsed_only_a,
    parsed_only_b
from tested
inner join ranked_runs as one on tested.run_a = one.run_id
inner join ranked_runs as two on tested.run_b = two.run_id
order by one.benchmark, one.protocol_name, one.model, two.model, tested.run_a, tested.run_b
