-- The mean of a run's accuracies by subject, over all and within each field, with its 95 % interval: subjects are strata
-- of equal weight, and the distance of each bound from the mean is the root of the summed squares of the subjects' own
-- distances from their Wilson bounds, over their number (MOVER). Formula and source: opentwbench/statistics/stratified.py,
-- as opentwbench/evaluation/scoring.py, _macro, uses it; a test compares the two. Repeats of an item are no independent
-- draws, so the interval is that of n / repeats items.
with cells as (

    select
        run_id,
        field,
        hits,
        n,
        greatest(1, round_even(n / max(repeats) over (partition by run_id), 0)) as items
    from {{ ref('int_score_cells') }}
    where n > 0

),

strata as (

    select
        run_id,
        field,
        hits / n as share,
        items,
        least(items, round_even(hits * items / n, 0)) as hits_of_items
    from cells

),

bounded as (

    select
        run_id,
        field,
        share,
        hits_of_items / items as share_of_items,
        {{ wilson_low('hits_of_items', 'items') }} as low,
        {{ wilson_high('hits_of_items', 'items') }} as high
    from strata

),

combined as (

    select
        run_id,
        field,
        grouping(field) = 1 as is_over_all,
        avg(share) as macro_accuracy,
        avg(share_of_items) as centre,
        sqrt(sum(pow(share_of_items - low, 2))) / count(*) as below,
        sqrt(sum(pow(high - share_of_items, 2))) / count(*) as above
    from bounded
    group by grouping sets ((run_id), (run_id, field))

)

select
    run_id,
    field,
    is_over_all,
    macro_accuracy,
    -- The mean over all repeats can fall a rounding outside the interval of the items.
    least(macro_accuracy, greatest(0.0, centre - below)) as macro_accuracy_low,
    greatest(macro_accuracy, least(1.0, centre + above)) as macro_accuracy_high
from combined
