"use strict";

const place = document.getElementById("api");

/** A session's own requests need Django's token; one by `Authorization` does not mind it. */
function withToken(request) {
  const token = document.cookie.match(/(?:^|; )csrftoken=([^;]*)/);
  if (token) request.headers["X-CSRFToken"] = decodeURIComponent(token[1]);
  return request;
}

SwaggerUIBundle({
  url: place.dataset.schema,
  domNode: place,
  deepLinking: true,
  docExpansion: "list",
  persistAuthorization: false,
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  requestInterceptor: withToken,
});
