-- Until when the same request is answered with the same order, whatever became of it: seconds, or a day where the client named its request.
alter table order_key add column held_until timestamptz;
update order_key set held_until = created_at + interval '10 seconds';
alter table order_key alter column held_until set not null;
