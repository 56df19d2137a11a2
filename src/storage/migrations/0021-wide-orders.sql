-- A plain sale writes few rows: the row of an order has its first transaction and that one's first attempt, the card stands beside
-- the facts, and the events of a commit share a row. Views show every transaction, attempt, event and try as before.

alter table orders
  add column serial_number uuid,
  add column state text,
  add column authorised_text text,
  add column result json,
  add column authentication json,
  add column step text,
  add column due_at timestamptz,
  add column lease bigint,
  add column tries integer,
  add column alarm text,
  add column transactions integer,
  add column attempts integer,
  add column gate_id bigint,
  add column terminal_id text,
  add column stan text,
  add column rrn text,
  add column started_at timestamptz,
  add column deadline_at timestamptz,
  add column outcome text,
  add column action_code text,
  add column why text,
  add column ended_at timestamptz;

update orders o set serial_number = t.serial_number, state = t.state, authorised_minor = t.amount_minor,
  authorised_text = t.amount_text, result = t.result::text::json, authentication = t.authentication::text::json, step = t.step,
  due_at = t.due_at, lease = t.lease, tries = t.tries, alarm = t.alarm,
  transactions = (select count(*) from transaction c where c.merchant_id = o.merchant_id and c.order_id = o.order_id),
  attempts = (select count(*) from attempt c where c.merchant_id = o.merchant_id and c.order_id = o.order_id),
  gate_id = a.gate_id, terminal_id = a.terminal_id, stan = a.stan, rrn = a.rrn, started_at = a.started_at,
  deadline_at = a.deadline_at, outcome = a.outcome, action_code = a.action_code, why = a.why, ended_at = a.ended_at
from transaction t
left join attempt a on a.merchant_id = t.merchant_id and a.order_id = t.order_id and a.attempt_no = 1 and a.transaction_no = 1
where t.merchant_id = o.merchant_id and t.order_id = o.order_id and t.transaction_no = 1;

delete from transaction where transaction_no = 1;
delete from attempt where attempt_no = 1 and transaction_no = 1;

alter table orders
  alter column state set not null,
  alter column authorised_minor set not null,
  alter column authorised_text set not null,
  alter column result set not null,
  alter column tries set not null,
  alter column transactions set not null,
  alter column attempts set not null;
alter table orders add constraint orders_step_check check ((step is null) = (due_at is null));
alter table orders add constraint orders_attempt_check
  check (num_nulls(gate_id, terminal_id, stan, rrn, started_at, deadline_at) in (0, 6));
create index orders_due on orders (due_at) where due_at is not null;
create index orders_parked on orders (order_id) where alarm is not null;

-- A status is set with each outcome; a column that only unusual ends fill leaves the index of the others alone.
drop index orders_unusual;
alter table orders add column unusual text
  generated always as (case when status in ('unknown', 'error', 'filtered') then status end) stored;
create index orders_unusual on orders (unusual, created_at) where unusual is not null;

alter table transaction
  alter column result type json using result::text::json,
  alter column authentication type json using authentication::text::json,
  alter column asked type json using asked::text::json;
alter table transaction add constraint transaction_number_check check (transaction_no > 1);

drop index orders_by_card;
alter table order_facts
  alter column request type json using request::text::json,
  alter column card type json using card::text::json,
  alter column screening type json using screening::text::json,
  add column card_hash text,
  add column pan_sealed bytea,
  add column pan_key bigint,
  add column fingerprint bytea,
  add column cvv2_sealed bytea,
  add column cvv2_key bigint,
  add column destination_sealed bytea;
update order_facts f set card_hash = f.card ->> 'hashId', pan_sealed = c.pan_sealed, pan_key = c.pan_key,
  fingerprint = c.fingerprint, cvv2_sealed = c.cvv2_sealed, cvv2_key = c.cvv2_key, destination_sealed = c.destination_sealed
from sealed_card c where c.merchant_id = f.merchant_id and c.order_id = f.order_id;
update order_facts set card_hash = card ->> 'hashId' where card_hash is null;
drop table sealed_card;
alter table order_facts alter column card_hash set not null;
alter table order_facts add constraint order_facts_card_check
  check (num_nulls(pan_sealed, pan_key, fingerprint) in (0, 3));
alter table order_facts add constraint order_facts_cvv2_check check ((cvv2_sealed is null) = (cvv2_key is null));
create index orders_by_card on order_facts (card_hash);

-- One row for the events of a commit. `moves` are from>event>to; only moves of the machine can be stored.
alter table order_event drop constraint order_event_from_state_to_state_fkey;
drop table legal_transition;
alter table order_event
  add column moves text[],
  add column transaction_nos integer[],
  alter column facts type json using case when facts is null then null else json_build_array(facts) end;
update order_event set moves = array[from_state || '>' || event || '>' || to_state], transaction_nos = array[transaction_no];
alter table order_event
  alter column moves set not null,
  alter column transaction_nos set not null,
  drop column transaction_no,
  drop column event,
  drop column from_state,
  drop column to_state;
alter table order_event add constraint order_event_check check (cardinality(moves) = cardinality(transaction_nos));
alter table order_event add constraint order_event_moves_check check (moves <@ array[
    'new>accepted>filtering', 'filtering>screened clean>ready', 'filtering>filtered>filtered',
    'filtering>card expired>declined', 'filtering>refused>declined', 'filtering>authentication begun>awaiting method',
    'filtering>authentication waived>ready', 'filtering>not authenticated>declined',
    'awaiting method>method begun>awaiting method', 'awaiting method>method uploaded>authenticating',
    'awaiting method>not authenticated>declined', 'authenticating>authenticated>ready',
    'authenticating>not authenticated>declined', 'authenticating>challenge required>awaiting challenge',
    'awaiting challenge>challenge returned>awaiting challenge', 'awaiting challenge>authenticated>ready',
    'awaiting challenge>not authenticated>declined', 'awaiting challenge>result missing>error',
    'authorising>authentication demanded>authenticating', 'filtering>enrolment unknown>enrolling',
    'enrolling>payer authentication required>awaiting pares', 'enrolling>authenticated>ready',
    'enrolling>not authenticated>declined', 'awaiting pares>authenticated>ready',
    'awaiting pares>not authenticated>declined', 'ready>attempt recorded>authorising', 'ready>no gate>error',
    'authorising>approved>approved', 'authorising>declined>declined', 'authorising>amount declined>ready',
    'authorising>not sent>error', 'authorising>answer lost>unknown', 'authorising>answer awaited>authorising',
    'authorising>lease lost>unknown', 'unknown>reversed>error', 'authorising>debited>crediting',
    'crediting>credited>approved', 'crediting>credit refused>returning', 'returning>debit returned>declined',
    'returning>reversed>error', 'new>requested>ready', 'new>owed>owed', 'owed>attempt recorded>reversing',
    'reversing>taken up>reversing', 'reversing>reversal unanswered>reversing', 'reversing>reversal acknowledged>approved'
]);

-- A first try that was received is noted in its message.
alter table delivery
  alter column state set default 'due',
  alter column tries set default 0,
  add column http_status integer,
  add column duration_ms integer;

create view all_transactions as
  select merchant_id, order_id, 1 as transaction_no, kind, 'request' as origin, serial_number, null::integer as parent_no, state,
    authorised_minor as amount_minor, authorised_text as amount_text, result, authentication, null::json as asked, step, due_at,
    lease, tries, alarm, created_at, final_at
  from orders
  union all
  select merchant_id, order_id, transaction_no, kind, origin, serial_number, parent_no, state, amount_minor, amount_text, result,
    authentication, asked, step, due_at, lease, tries, alarm, created_at, final_at
  from transaction;

create view all_attempts as
  select merchant_id, order_id, 1 as attempt_no, 1 as transaction_no, gate_id, terminal_id, stan, rrn, started_at, deadline_at,
    outcome, action_code, why, ended_at
  from orders where gate_id is not null
  union all
  select merchant_id, order_id, attempt_no, transaction_no, gate_id, terminal_id, stan, rrn, started_at, deadline_at, outcome,
    action_code, why, ended_at
  from attempt;

create view all_events as
  select e.merchant_id, e.order_id, e.event_no + (m.at - 1)::integer as event_no, e.transaction_nos[m.at] as transaction_no,
    split_part(m.move, '>', 2) as event, split_part(m.move, '>', 1) as from_state, split_part(m.move, '>', 3) as to_state,
    case when json_typeof(e.facts -> (m.at - 1)::integer) <> 'null' then e.facts -> (m.at - 1)::integer end as facts, e.at
  from order_event e cross join lateral unnest(e.moves) with ordinality as m (move, at);

create view all_tries as
  select merchant_id, order_id, delivery_no, 1 as try_no, done_at as at, duration_ms, http_status, null::text as failure
  from delivery where duration_ms is not null
  union all
  select merchant_id, order_id, delivery_no, try_no, at, duration_ms, http_status, failure
  from delivery_attempt;
