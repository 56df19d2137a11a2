-- Merchants' servers to which a process sends nothing for now, with the end of its pause in milliseconds
-- since 1970: [{"merchantId": "1", "origin": "https://shop.example", "until": 1900000000000}].
alter table heartbeat add column paused_origins json;
