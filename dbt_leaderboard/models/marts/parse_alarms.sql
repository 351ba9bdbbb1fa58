-- Cells (run x subject) whose parse rate is an outlier: an alarm about the apparatus, no result of a model.
--
-- Rule: the modified z score, difference / max(1.4826 * MAD, binomial noise), is at least 5 and the difference at least
-- 5 points, among cells of at least 30 items and at least 8 cells to compare with; once beside the run's own subjects
-- (outlier_for_model), once beside the other runs in that subject after each run's own level is taken away
-- (outlier_for_subject). Source of the score: B. Iglewicz, D. Hoaglin, "How to Detect and Handle Outliers" (1993), who
-- take 3.5 for one list; 5 here because a board of 110 models has 16,000 cells, of which 3.5 would report eight by
-- chance and 5 none. 30 items: below that one unread answer moves the rate by more than 3 points. 8 cells: a median of
-- fewer is no typical value.
select
    cells.run_id,
    runs.model,
    runs.benchmark,
    runs.protocol_id,
    runs.serving_precision,
    cells.subject,
    cells.n,
    cells.parse_rate,
    cells.run_typical,
    cells.subject_typical,
    cells.z_for_model,
    cells.z_for_subject,
    cells.outlier_for_model,
    cells.outlier_for_subject
from {{ ref('int_parse_cells') }} as cells
inner join {{ ref('int_runs') }} as runs using (run_id)
where cells.outlier_for_model or cells.outlier_for_subject
order by least(coalesce(cells.z_for_model, 0), coalesce(cells.z_for_subject, 0)), cells.run_id, cells.subject
