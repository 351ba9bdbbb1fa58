-- No submission is a run, and no hash that two rows share is taken for one of them.
select submissions.submission_id as id, 'is a run' as fault
from {{ ref('submissions_log') }} as submissions
inner join {{ ref('leaderboard') }} as leaderboard on submissions.submission_id = leaderboard.run_id
union all
select answers.submission_id, 'an ambiguous hash was given an item'
from {{ ref('stg_submission_answers') }} as answers
inner join {{ ref('stg_submissions') }} as submissions on answers.submission_id = submissions.submission_id
inner join {{ ref('stg_items') }} as items on answers.item_id = items.item_id
where items.shares_stem and submissions.form = 'published'
