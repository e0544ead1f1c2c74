import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import de.bwaldvogel.mongo.bson.Document;
import io.netty.channel.Channel;

/** Starts the conformance suite in one process with a MongoDB that lives in memory. It is compiled together with the suite. */
public class StartSuite {
  public static void main(String[] args) {
    MongoServer server = new MongoServer(new MemoryBackend() {
      /** The suite asks at its start for a parameter of the server, and the stand-in does not know that command. */
      @Override
      public Document handleCommand(Channel channel, String database, String command, Document query) {
        if (!command.equalsIgnoreCase("getParameter")) return super.handleCommand(channel, database, command, query);
        return new Document("featureCompatibilityVersion", new Document("version", "6.0")).append("ok", 1.0);
      }
    });
    System.setProperty("spring.mongodb.uri", server.bindAndGetConnectionString() + "/test_suite");
    net.openid.conformance.Application.main(args);
  }
}
