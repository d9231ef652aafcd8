--
-- PostgreSQL database dump
--
CREATE TABLE public.rpush_apps (
    id bigint NOT NULL,
    name character varying NOT NULL
);
COPY public.rpush_apps (id, name, environment, bundle_id) FROM stdin;
1	shop	production	com.example.shop
2	old	development	\N
\.
COPY public.rpush_feedback (id, device_token, failed_at, created_at, app_id) FROM stdin;
1	00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f021	2026-11-01 10:00:00.25	2026-11-01 10:00:01	1
2	00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f022	2026-11-01 10:00:00	2026-11-01 10:00:01	2
3	00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f023	\N	2026-11-01 10:00:01	2
4	cc
\.
COPY public.rpush_notifications (id, device_token) FROM stdin;
1	dd
\.
COPY public.mobile_devices (id, platform, device_token, user_id, updated_at, locale) FROM stdin;
1	ios	00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f024	17	2026-11-01 10:00:00+01	en\tGB
2	android	ff	18	2026-11-01 10:00:00+01	en
3	ios	\N	18	2026-11-01 10:00:00+01	en
\.
