import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Webhook {
  // [verify]
  static final byte[] KEY =
      Base64.getDecoder().decode(System.getenv("WEBHOOK_SECRET").replaceFirst("^whsec_", ""));

  /** Whether the service signed this body, within the last five minutes. */
  static boolean isGenuine(Headers headers, byte[] body) throws GeneralSecurityException {
    String id = headers.getFirst("webhook-id"), at = headers.getFirst("webhook-timestamp");
    String signatures = headers.getFirst("webhook-signature");
    if (id == null || signatures == null) return false;
    if (at == null || !at.matches("\\d{1,12}")) return false;
    if (Math.abs(Instant.now().getEpochSecond() - Long.parseLong(at)) > 300) return false;
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(KEY, "HmacSHA256"));
    mac.update((id + "." + at + ".").getBytes(UTF_8));
    String digest = Base64.getEncoder().encodeToString(mac.doFinal(body));
    byte[] expected = ("v1," + digest).getBytes(UTF_8);
    return Arrays.stream(signatures.split(" "))
        .anyMatch(given -> MessageDigest.isEqual(expected, given.getBytes(UTF_8)));
  }
  // [/verify]

  // In production: a table with a unique index on the event id.
  static final Set<String> SEEN = ConcurrentHashMap.newKeySet();

  public static void main(String[] args) throws Exception {
    String port = System.getenv().getOrDefault("PORT", "3000");
    HttpServer server = HttpServer.create(new InetSocketAddress(Integer.parseInt(port)), 0);
    server.createContext("/", exchange -> {
      try (exchange) {
        // The exact bytes, before any parser.
        byte[] body = exchange.getRequestBody().readAllBytes();
        boolean genuine = isGenuine(exchange.getRequestHeaders(), body);
        // The header webhook-id is the id of the event.
        if (genuine && SEEN.add(exchange.getRequestHeaders().getFirst("webhook-id")))
          System.out.println("handle " + new String(body, UTF_8));
        exchange.sendResponseHeaders(genuine ? 204 : 401, -1);
      } catch (GeneralSecurityException impossible) {
        throw new IllegalStateException(impossible);
      }
    });
    server.start();
  }
}
