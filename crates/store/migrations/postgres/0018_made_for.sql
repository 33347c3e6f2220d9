-- What the workflow made a session for, beside the task's own: later entries into the step find it by this, whatever people call it.
alter table sessions add column made_for text;
