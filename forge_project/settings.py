"""Every setting of Forge, read from the environment by env.py. README lists them."""

import socket
from datetime import timedelta
from pathlib import Path
from typing import Any

from kombu import Exchange, Queue

from forge_project import env
from forge_project.kernel import failpoints, transport
from forge_project.kernel.fingerprints import Fingerprints
from forge_project.kernel.log.config import LOGGING  # noqa: F401  # Django's own setting
from forge_project.kernel.sealing import Sealer

BASE_DIR = env.BASE
FORGE_MODE = env.text("FORGE_MODE", "embedded", among=("embedded", "scaled"))
FORGE_VAR = Path(env.text("FORGE_VAR", str(BASE_DIR / "var"))).absolute()
_keys = env.keys(FORGE_VAR, FORGE_MODE)
try:
    FORGE_SEALER = Sealer(_keys["FORGE_SEALING_KEYS"].split(","))
except ValueError as error:
    raise env.BadSetting(f"FORGE_SEALING_KEYS: {error}") from None
try:
    FORGE_FINGERPRINTS = Fingerprints(_keys["FORGE_FINGERPRINT_KEYS"].split(","))
    failpoints.arm(env.text("FORGE_FAILPOINTS", ""))
except ValueError as error:
    raise env.BadSetting(str(error)) from None
SECRET_KEY = _keys["FORGE_SECRET_KEY"]
if len(SECRET_KEY) < 32:
    raise env.BadSetting("FORGE_SECRET_KEY: expected at least 32 characters")

# --- Forge -----------------------------------------------------------------------------------------
FORGE_HOST_ID = env.text("FORGE_HOST_ID", socket.gethostname())
FORGE_WORKER_THREADS = env.number("FORGE_WORKER_THREADS", 8, low=1, high=256)
FORGE_CALL_THREADS = env.number("FORGE_CALL_THREADS", 8, low=1, high=256)
FORGE_CALLER_RUNNING = env.number("FORGE_CALLER_RUNNING", 4, low=1, high=10_000)
FORGE_CALLER_QUEUED = env.number("FORGE_CALLER_QUEUED", 100, low=1, high=1_000_000)
FORGE_EXECUTION_BYTES = env.number("FORGE_EXECUTION_BYTES", 32 * 2**20, low=4 * 2**20, high=256 * 2**20)
FORGE_CALLER_DAY_BYTES = env.number("FORGE_CALLER_DAY_BYTES", 2**30, low=2**20, high=2**50)
FORGE_CALLER_BYTES = env.number("FORGE_CALLER_BYTES", 20 * 2**30, low=2**20, high=2**60)
FORGE_CALLER_PENDING = env.number("FORGE_CALLER_PENDING", 50, low=1, high=1_000_000)
FORGE_LINGER_MS = env.number("FORGE_LINGER_MS", 200, low=0, high=60_000)
FORGE_SWEEP_SECONDS = env.number("FORGE_SWEEP_SECONDS", 2 if FORGE_MODE == "embedded" else 10, low=1, high=3600)
FORGE_LEASE_SECONDS = env.number("FORGE_LEASE_SECONDS", 30, low=3, high=3600)
FORGE_DRAIN_SECONDS = env.number("FORGE_DRAIN_SECONDS", 25, low=0, high=3600)
FORGE_MAX_CRASHES = env.number("FORGE_MAX_CRASHES", 3, low=1, high=100)
FORGE_APPROVAL_PENDING_SECONDS = env.number("FORGE_APPROVAL_PENDING_SECONDS", 86_400, low=60, high=604_800)
FORGE_APPROVAL_UNUSED_SECONDS = env.number("FORGE_APPROVAL_UNUSED_SECONDS", 900, low=5, high=86_400)
FORGE_PASSWORD_GUESSES = env.number("FORGE_PASSWORD_GUESSES", 5, low=1, high=100)
FORGE_PASSWORD_SECONDS = env.number("FORGE_PASSWORD_SECONDS", 300, low=1, high=86_400)
FORGE_API_DECISIONS = env.flag("FORGE_API_DECISIONS", False)
FORGE_ALLOW_WEAK_ISOLATION = env.flag("FORGE_ALLOW_WEAK_ISOLATION", False)
FORGE_CHECKPOINT_KEY = env.text("FORGE_CHECKPOINT_KEY", "")  # of the checkpoint process alone
FORGE_CHECKPOINT_PUBLIC_KEYS = env.names("FORGE_CHECKPOINT_PUBLIC_KEYS")
FORGE_CHECKPOINT_SINK = env.sinks("FORGE_CHECKPOINT_SINK")  # an append-only file elsewhere, a webhook, or both
FORGE_RETENTION_DAYS = env.number("FORGE_RETENTION_DAYS", 365, low=0, high=36_500)
FORGE_SIGNAL_DAYS = env.number("FORGE_SIGNAL_DAYS", 30, low=0, high=36_500)
FORGE_CAPABILITIES = env.names("FORGE_CAPABILITIES")
FORGE_EMAIL_FROM = env.text("FORGE_EMAIL_FROM", "")  # empty: no mail is sent
FORGE_PUBLIC_URL = env.text("FORGE_PUBLIC_URL", "http://localhost:8000")
FORGE_REVIEWERS = env.names("FORGE_REVIEWERS")
FORGE_REVIEW_FALLBACK = env.text("FORGE_REVIEW_FALLBACK", "human", among=("human", "refuse"))
FORGE_REVIEWER_URL = env.text("FORGE_REVIEWER_URL", "")
FORGE_REVIEWER_KEY = env.text("FORGE_REVIEWER_KEY", "")
FORGE_REVIEWER_FAST_MODEL = env.text("FORGE_REVIEWER_FAST_MODEL", "")
FORGE_REVIEWER_REASON_MODEL = env.text("FORGE_REVIEWER_REASON_MODEL", "")
FORGE_REVIEWER_SECONDS = env.number("FORGE_REVIEWER_SECONDS", 10, low=1, high=300)
FORGE_METRICS_BIND = env.text("FORGE_METRICS_BIND", "127.0.0.1:9464")
FORGE_NETWORK_ALLOW = env.networks("FORGE_NETWORK_ALLOW")  # beside the public ones
FORGE_WEBHOOK_HTTP = env.flag("FORGE_WEBHOOK_HTTP", False)
FORGE_WEBHOOK_SECONDS = env.number("FORGE_WEBHOOK_SECONDS", 10, low=1, high=60)
FORGE_WEBHOOK_ATTEMPTS = env.number("FORGE_WEBHOOK_ATTEMPTS", 10, low=1, high=100)
FORGE_WEBHOOK_BACK_OFF = env.number("FORGE_WEBHOOK_BACK_OFF", 5, low=1, high=3600)

# Requests of one account a minute; 0: no limit.
FORGE_RATES = {
    "read": env.number("FORGE_RATE_READ", 60_000, low=0, high=10_000_000),
    "write": env.number("FORGE_RATE_WRITE", 30_000, low=0, high=10_000_000),
    "submit": env.number("FORGE_RATE_SUBMIT", 30_000, low=0, high=10_000_000),
    "decide": env.number("FORGE_RATE_DECIDE", 6_000, low=0, high=10_000_000),
    "webhook": env.number("FORGE_RATE_WEBHOOK", 60, low=0, high=10_000_000),
}
FORGE_PROXIES = env.number("FORGE_PROXIES", 0, low=0, high=10)  # how many in front: whose X-Forwarded-For counts
FORGE_CACHE_URL = env.text("FORGE_CACHE_URL", "")
if FORGE_CACHE_URL and not FORGE_CACHE_URL.startswith(("redis://", "rediss://")):
    raise env.BadSetting("FORGE_CACHE_URL: expected redis://… or rediss://…")

# --- Django ----------------------------------------------------------------------------------------
DEBUG = False
ALLOWED_HOSTS = env.names("FORGE_ALLOWED_HOSTS") or ["localhost", "127.0.0.1", "[::1]"]
CSRF_TRUSTED_ORIGINS = env.names("FORGE_TRUSTED_ORIGINS")
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "knox",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "forge_project.ledger",
    "artifacts",
    "approvals",
    "executions",
]
MIDDLEWARE = [
    "forge_project.kernel.http.correlation",
    "forge_project.kernel.http.plain_cookies",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "forge_project.urls"
WSGI_APPLICATION = "forge_project.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
DATABASES: dict[str, dict[str, Any]] = {
    "default": env.database("FORGE_DATABASE_URL", f"sqlite:///{FORGE_VAR / 'forge.sqlite3'}")
}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"] |= {"ENGINE": "forge_project.kernel.sqlite", "CONN_MAX_AGE": None}
else:
    # One connection a thread that may hold one, and four for housekeeping and beat.
    _pool = {"min_size": 1, "max_size": FORGE_WORKER_THREADS + FORGE_CALL_THREADS + 4, "timeout": 10}
    DATABASES["default"] |= {
        "ENGINE": "django.db.backends.postgresql",
        "CONN_MAX_AGE": 0,
        "OPTIONS": {"pool": _pool, "connect_timeout": 5, "application_name": "forge"},
    }
CACHES: dict[str, dict[str, Any]] = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
if FORGE_CACHE_URL:  # counts requests over all web processes and hosts
    CACHES["default"] = {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": FORGE_CACHE_URL,
        "KEY_PREFIX": "forge",
        "OPTIONS": {"socket_timeout": 0.5, "socket_connect_timeout": 0.5},
    }
ATOMIC_REQUESTS = False
APPEND_SLASH = False  # a redirected POST becomes a GET in most clients
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTHENTICATION_BACKENDS = ["approvals.passwords.Backend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LANGUAGE_CODE, TIME_ZONE, USE_I18N, USE_TZ = "en", "UTC", True, True
STATIC_URL, STATIC_ROOT = "static/", FORGE_VAR / "static"
WHITENOISE_USE_FINDERS = True
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.flag("FORGE_SECURE_COOKIES", FORGE_MODE == "scaled")
SESSION_COOKIE_AGE = 12 * 3600
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "frame-ancestors": ["'none'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "object-src": ["'none'"],
    }
}

# --- Mail: a link to what waits, never an agent's words ---------------------------------------------
globals().update(env.mail("FORGE_EMAIL_URL", "smtp://localhost:25"))
EMAIL_TIMEOUT = 10

# --- API -------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "forge_project.kernel.authentication.Token",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["forge_project.kernel.parsing.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_THROTTLE_CLASSES": ["forge_project.kernel.throttling.Scoped"],
    "NUM_PROXIES": FORGE_PROXIES,
    "EXCEPTION_HANDLER": "forge_project.kernel.http.exception_handler",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,
}
REST_KNOX = {"TOKEN_TTL": timedelta(days=90), "AUTO_REFRESH": False, "TOKEN_PREFIX": "forge_"}
SPECTACULAR_SETTINGS = {
    "TITLE": "Forge",
    "DESCRIPTION": "Agents' programs and requests: journaled, judged, approved, applied at most once.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "ENUM_NAME_OVERRIDES": {
        "ApprovalRisk": "approvals.states.Risk",
        "ExecutionStatus": "executions.states.Status",
        "CallStatus": "executions.states.CallStatus",
        "SignalKind": "executions.outbox.models.SignalKind",
    },
}

# --- Celery: hints only, never facts ----------------------------------------------------------------
CELERY_BROKER_URL = env.text("FORGE_BROKER_URL", f"{transport.SCHEME}://localhost")
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {}
if CELERY_BROKER_URL.startswith(transport.SCHEME):
    CELERY_BROKER_TRANSPORT_OPTIONS = transport.options(FORGE_VAR / "broker")
elif CELERY_BROKER_URL.startswith(("redis://", "rediss://")):
    CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_timeout": 3, "socket_connect_timeout": 3}
CELERY_TASK_DEFAULT_QUEUE = env.text("FORGE_QUEUE", "forge")  # several Forges may share one broker
# A hint may be lost, so who takes it need not say so: on Redis that is half of what a hint costs. RabbitMQ would
# push its share to a worker that stands still, were it not for what that one has not acknowledged.
_hints = Queue(CELERY_TASK_DEFAULT_QUEUE, Exchange(CELERY_TASK_DEFAULT_QUEUE), CELERY_TASK_DEFAULT_QUEUE)
_hints.no_ack = not CELERY_BROKER_URL.startswith(("amqp", "pyamqp"))
CELERY_TASK_QUEUES = [_hints]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_TIMEOUT = 3
CELERY_TASK_PUBLISH_RETRY = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
