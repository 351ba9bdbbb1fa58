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

-- Every kind of pair has one shape; it says what is joined with itself, and when two of its rows are a pair.
paired as (

    {% for kind, of, fits in [
        ('extraction', 'columns', "a.run_id = b.run_id and a.method = 'ranked' and b.method <> 'ranked'"),
        ('benchmark', 'columns', "a.model = b.model and a.serving_precision = b.serving_precision
            and a.protocol_id = b.protocol_id
            and a.method = 'ranked' and b.method = 'ranked' and a.benchmark < b.benchmark"),
        ('protocol', 'single', "a.model = b.model and a.serving_precision = b.serving_precision
            and a.max_tokens = b.max_tokens
            and a.benchmark = b.benchmark and a.protocol_name < b.protocol_name"),
    ] %}
    select
        '{{ kind }}' as kind,
        {% for side in ('a', 'b') -%}
        {{ side }}.benchmark as benchmark_{{ side }},
        {{ side }}.protocol_name as protocol_{{ side }},
        {{ side }}.method as method_{{ side }},
        {{ side }}.score as score_{{ side }}{{ ',' if not loop.last }}
        {% endfor -%}
    from {{ of }} as a
    inner join {{ of }} as b on {{ fits }}
    {{ 'union all' if not loop.last }}
    {% endfor %}

),

{% set pair = 'kind, benchmark_a, protocol_a, method_a, benchmark_b, protocol_b, method_b' %}
{% set part = 'scope, ' ~ pair %}
placed as (

    select *, rank() over (partition by {{ pair }} order by score_a desc) as place
    from paired

),

scoped as (

    select 'all' as scope, * from placed
    union all
    select 'top_{{ var("rank_top") }}', * from placed where place <= {{ var('rank_top') }}
    union all
    select 'above_threshold', * from placed where score_a >= {{ var('rank_threshold') }}

),

ranked as (

    select
        {{ part }},
        {{ average_rank('score_a', part) }} as rank_a,
        {{ average_rank('score_b', part) }} as rank_b
    from scoped

)

select
    {{ pair }},
    scope,
    count(*) as n,
    case
        when count(*) >= 3 and var_pop(rank_a) > 0 and var_pop(rank_b) > 0
            then least(1.0, greatest(-1.0, corr(rank_a, rank_b)))
    end as spearman
from ranked
group by {{ part }}
order by kind, benchmark_a, protocol_a, benchmark_b, protocol_b, method_b, scope
