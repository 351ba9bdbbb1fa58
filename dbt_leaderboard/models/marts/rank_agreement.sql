-- Spearman's rho between two columns of the board, over all models, the top 20 of the first column (with ties at the
-- last place) and those above a threshold there. Columns are paired three ways: two extraction methods of the same
-- runs, two benchmarks under one protocol, two protocols on one benchmark. opentwbench/statistics/ranks.py states the
-- coefficient, with sources; a test compares the two. rho is null for fewer than three models or a column without any
-- difference.
with complete as (

    select * from {{ ref('leaderboard') }} where is_complete

),

-- Every column of the board as a list of scores.
columns as (

    {% for method, column in [('ranked', 'accuracy'), ('strict', 'strict_accuracy'), ('lenient', 'lenient_accuracy'),
                              ('tolerant-box', 'tolerant_box_accuracy'), ('twinkle-box', 'twinkle_box_accuracy'),
                              ('twinkle-pattern', 'twinkle_pattern_accuracy')] %}
    select
        run_id,
        model,
        serving_precision,
        max_tokens,
        protocol_id,
        benchmark,
        protocol_name,
        '{{ method }}' as method,
        {{ column }} as score
    from complete
    where {{ column }} is not null
    {{ 'union all' if not loop.last }}
    {% endfor %}

),

-- Where a model has several runs that fit, the better known budget would be a guess: such a model is left out.
single as (

    select * from columns where method = 'ranked'
    qualify count(*) over (partition by model, serving_precision, max_tokens, benchmark, protocol_name) = 1

),

paired as (

    select
        'extraction' as kind,
        a.benchmark as benchmark_a, a.protocol_name as protocol_a, a.method as method_a,
        b.benchmark as benchmark_b, b.protocol_name as protocol_b, b.method as method_b,
        a.score as score_a, b.score as score_b
    from columns as a
    inner join columns as b on a.run_id = b.run_id and a.method = 'ranked' and b.method <> 'ranked'

    union all

    select
        'benchmark',
        a.benchmark, a.protocol_name, a.method,
        b.benchmark, b.protocol_name, b.method,
        a.score, b.score
    from columns as a
    inner join columns as b
        on
            a.model = b.model and a.serving_precision = b.serving_precision and a.protocol_id = b.protocol_id
            and a.method = 'ranked' and b.method = 'ranked' and a.benchmark < b.benchmark

    union all

    select
        'protocol',
        a.benchmark, a.protocol_name, a.method,
        b.benchmark, b.protocol_name, b.method,
        a.score, b.score
    from single as a
    inner join single as b
        on
            a.model = b.model and a.serving_precision = b.serving_precision and a.max_tokens = b.max_tokens
            and a.benchmark = b.benchmark and a.protocol_name < b.protocol_name

),

placed as (

    select
        *,
        rank() over (
            partition by kind, benchmark_a, protocol_a, method_a, benchmark_b, protocol_b, method_b
            order by score_a desc
        ) as place
    from paired

),

scoped as (

    select 'all' as scope, * from placed
    union all
    select 'top_{{ var("rank_top") }}', * from placed where place <= {{ var('rank_top') }}
    union all
    select 'above_threshold', * from placed where score_a >= {{ var('rank_threshold') }}

),

{% set part = 'scope, kind, benchmark_a, protocol_a, method_a, benchmark_b, protocol_b, method_b' %}
ranked as (

    select
        {{ part }},
        {{ average_rank('score_a', part) }} as rank_a,
        {{ average_rank('score_b', part) }} as rank_b
    from scoped

)

select
    kind,
    benchmark_a,
    protocol_a,
    method_a,
    benchmark_b,
    protocol_b,
    method_b,
    scope,
    count(*) as n,
    case
        when count(*) >= 3 and var_pop(rank_a) > 0 and var_pop(rank_b) > 0
            then least(1.0, greatest(-1.0, corr(rank_a, rank_b)))
    end as spearman
from ranked
group by kind, benchmark_a, protocol_a, method_a, benchmark_b, protocol_b, method_b, scope
order by kind, benchmark_a, protocol_a, benchmark_b, protocol_b, method_b, scope
