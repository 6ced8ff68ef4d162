import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;

public class Client {
  // [call]
  static final String SERVER =
      System.getenv().getOrDefault("PAY_SERVER", "http://127.0.0.1:8080");
  static final HttpClient HTTP = HttpClient.newHttpClient();
  static final ObjectMapper JSON = new ObjectMapper();

  /** A refusal of the service: branch on the code, never on the text. */
  static class Refusal extends RuntimeException {
    final String code;
    final boolean retryable;
    final long retryAfter;

    Refusal(JsonNode problem, long retryAfter) {
      super(problem.path("code").asText() + ": " + problem.path("detail").asText()
          + " (request " + problem.path("requestId").asText() + ")");
      this.code = problem.path("code").asText();
      this.retryable = problem.path("retryable").asBoolean();
      this.retryAfter = retryAfter;
    }
  }

  static JsonNode send(
      String method, String path, String token, Map<String, String> body, String key)
      throws IOException, InterruptedException {
    var request = HttpRequest.newBuilder(URI.create(SERVER + path))
        .timeout(Duration.ofSeconds(30))
        .header("Authorization", "Bearer " + token);
    if (body != null) request.header("Content-Type", "application/json");
    if (key != null) request.header("Idempotency-Key", key);
    var content = body == null
        ? BodyPublishers.noBody()
        : BodyPublishers.ofString(JSON.writeValueAsString(body));
    var response = HTTP.send(request.method(method, content).build(), BodyHandlers.ofString());
    JsonNode answer = JSON.readTree(response.body());
    if (response.statusCode() >= 400)
      throw new Refusal(answer, response.headers().firstValueAsLong("Retry-After").orElse(1));
    return answer.get("data");
  }

  /** Repeats a request while its outcome is not known; with a key it is done once. */
  static JsonNode call(
      String method, String path, String token, Map<String, String> body, String key)
      throws IOException, InterruptedException {
    for (int attempt = 1; ; attempt++) {
      try {
        return send(method, path, token, body, key);
      } catch (Refusal refusal) {
        if (!refusal.retryable || attempt == 5) throw refusal;
        Thread.sleep(refusal.retryAfter * 1000);
      } catch (IOException noAnswer) {
        if (attempt == 5) throw noAnswer;
        Thread.sleep(attempt * 1000L);
      }
    }
  }
  // [/call]

  // [token]
  /** Keep the token for a little less than `expires_in` seconds, then get another one. */
  static String getToken(String clientId, String clientSecret)
      throws IOException, InterruptedException {
    String form = "grant_type=client_credentials"
        + "&client_id=" + URLEncoder.encode(clientId, StandardCharsets.UTF_8)
        + "&client_secret=" + URLEncoder.encode(clientSecret, StandardCharsets.UTF_8);
    var request = HttpRequest.newBuilder(URI.create(SERVER + "/oauth/token"))
        .header("Content-Type", "application/x-www-form-urlencoded")
        .POST(BodyPublishers.ofString(form));
    var response = HTTP.send(request.build(), BodyHandlers.ofString());
    JsonNode answer = JSON.readTree(response.body());
    if (answer.has("error"))
      throw new IllegalStateException(answer.path("error_description").asText());
    return answer.get("access_token").asText();
  }
  // [/token]

  public static void main(String[] args) throws Exception {
    String shopOrder = System.getenv().getOrDefault("SHOP_ORDER", "1001");
    String token = getToken(System.getenv("CLIENT_ID"), System.getenv("CLIENT_SECRET"));

    // [pay]
    JsonNode order = call("POST", "/api/v2/payment/pay", token,
        Map.of("subject", "Two coffees", "amount", "12.50",
            "payWay", "alipay", "merchantOrderNo", shopOrder),
        "pay-" + shopOrder);
    String orderNo = order.get("orderNo").asText();
    System.out.println("Please pay at " + order.get("payUrl").asText());
    // [/pay]

    // [query]
    String status = order.get("status").asText();
    while (status.equals("created") || status.equals("pending")) {
      Thread.sleep(2000);
      JsonNode found = call("GET", "/api/v2/payment/query/" + orderNo, token, null, null);
      status = found.get("status").asText();
    }
    if (!status.equals("paid")) throw new IllegalStateException("The order is " + status + ".");
    // [/query]

    // [refund]
    JsonNode refund = call("POST", "/api/v2/payment/refund", token,
        Map.of("orderNo", orderNo, "refundAmount", "2.50",
            "merchantRefundNo", shopOrder + "-1"),
        "refund-" + shopOrder + "-1");
    System.out.printf("Refund %s is %s, %s left%n", refund.get("refundNo").asText(),
        refund.get("status").asText(), refund.get("refundableAmount").asText());
    // [/refund]
  }
}
