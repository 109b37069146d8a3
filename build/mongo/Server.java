import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import java.util.List;

/** A stand-in for MongoDB in memory, on a port of the loopback. It answers as a server of version 4.4. */
public class Server {
    public static void main(String[] args) {
        MemoryBackend backend = new MemoryBackend();
        backend.version(new MongoVersion() {
            public List<Integer> getVersionArray() { return List.of(4, 4, 0); }
            public int getWireVersion() { return 9; }
        });
        new MongoServer(backend).bind("127.0.0.1", Integer.parseInt(args[0]));
    }
}
