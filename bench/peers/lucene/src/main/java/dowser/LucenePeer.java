package dowser;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.GZIPInputStream;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.DoublePoint;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.document.SortedSetDocValuesField;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.DocValues;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.SortedSetDocValues;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.BoostQuery;
import org.apache.lucene.search.Collector;
import org.apache.lucene.search.DisjunctionMaxQuery;
import org.apache.lucene.search.FuzzyQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.MatchAllDocsQuery;
import org.apache.lucene.search.MultiCollector;
import org.apache.lucene.search.PrefixQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.ScoreMode;
import org.apache.lucene.search.SimpleCollector;
import org.apache.lucene.search.Sort;
import org.apache.lucene.search.SortField;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopFieldCollector;
import org.apache.lucene.search.TopFieldDocs;
import org.apache.lucene.store.MMapDirectory;
import org.apache.lucene.util.BytesRef;

/**
 * The same work as the engine's bench, in Lucene 9.12 on one thread: all words must match in some field, the last may
 * be a prefix, typos are tried only when nothing was found (so the peer never pays for them needlessly), a filter,
 * the ten best by score and default sorting field with their stored source, the exact total, and counts of every
 * facet over all matches. Arguments: docs schema queries warm out indexFolder.
 */
public final class LucenePeer {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Pattern CLAUSE = Pattern.compile("([a-z_.]+):(=|!=|>=|<=|>|<)?(\\[[^\\]]*\\]|`[^`]*`|[^&|]+)");

  private record FieldSpec(String name, String type, boolean facet) {}

  private final List<FieldSpec> fields = new ArrayList<>();
  private final String sortingField;
  private final Analyzer analyzer = new StandardAnalyzer();
  private IndexSearcher searcher;

  private LucenePeer(JsonNode schema) {
    for (JsonNode field : schema.get("fields")) fields.add(new FieldSpec(field.get("name").asText(), field.get("type").asText(), field.path("facet").asBoolean(false)));
    sortingField = schema.path("default_sorting_field").asText("");
  }

  public static void main(String[] arguments) throws Exception {
    LucenePeer peer = new LucenePeer(JSON.readTree(Path.of(arguments[1]).toFile()));
    Path indexFolder = Path.of(arguments[5]);
    int[] imported = new int[1];
    long importStarted = System.nanoTime();
    long bytes = peer.index(arguments[0], indexFolder, imported);
    double importSeconds = (System.nanoTime() - importStarted) / 1e9;
    List<JsonNode> warm = lines(arguments[3]);
    List<JsonNode> queries = lines(arguments[2]);
    for (int round = 0; round < 3; round++) for (JsonNode query : warm) peer.search(query);
    for (JsonNode query : queries) peer.search(query);
    double[] times = new double[queries.size()];
    ArrayNode answers = JSON.createArrayNode();
    long started = System.nanoTime();
    List<Answer> kept = new ArrayList<>(queries.size());
    for (int i = 0; i < times.length; i++) {
      long before = System.nanoTime();
      kept.add(peer.search(queries.get(i)));
      times[i] = (System.nanoTime() - before) / 1e6;
    }
    double seconds = (System.nanoTime() - started) / 1e9;
    for (int i = 0; i < times.length; i++) answers.add(kept.get(i).toJson(times[i]));
    double[] sorted = times.clone();
    Arrays.sort(sorted);
    ObjectNode out = JSON.createObjectNode();
    out.put("import_docs_per_s", Math.round(imported[0] / importSeconds));
    out.put("index_bytes_per_doc", bytes / Math.max(1, imported[0]));
    out.put("qps", times.length / seconds);
    out.put("p50_ms", sorted[(int) Math.ceil(0.5 * sorted.length) - 1]);
    out.put("p95_ms", sorted[(int) Math.ceil(0.95 * sorted.length) - 1]);
    out.put("p99_ms", sorted[(int) Math.ceil(0.99 * sorted.length) - 1]);
    out.set("queries", answers);
    JSON.writeValue(Path.of(arguments[4]).toFile(), out);
  }

  private static List<JsonNode> lines(String file) throws IOException {
    List<JsonNode> all = new ArrayList<>();
    try (BufferedReader reader = open(file)) {
      for (String line; (line = reader.readLine()) != null; ) if (!line.isEmpty()) all.add(JSON.readTree(line));
    }
    return all;
  }

  private static BufferedReader open(String file) throws IOException {
    InputStream raw = new FileInputStream(file);
    return new BufferedReader(new InputStreamReader(file.endsWith(".gz") ? new GZIPInputStream(raw) : raw, StandardCharsets.UTF_8));
  }

  private long index(String file, Path folder, int[] imported) throws IOException {
    MMapDirectory directory = new MMapDirectory(folder);
    IndexWriterConfig config = new IndexWriterConfig(analyzer).setRAMBufferSizeMB(256);
    try (IndexWriter writer = new IndexWriter(directory, config); BufferedReader reader = open(file)) {
      for (String line; (line = reader.readLine()) != null; ) {
        if (line.isEmpty()) continue;
        writer.addDocument(documentOf(JSON.readTree(line), line));
        imported[0]++;
      }
      writer.forceMerge(1);
      writer.commit();
    }
    searcher = new IndexSearcher(DirectoryReader.open(directory));
    searcher.setQueryCache(null);
    long bytes = 0;
    try (var files = Files.list(folder)) {
      // Stored sources (.fdt, .fdx, .fdm) are the documents, not the index.
      for (Path each : (Iterable<Path>) files::iterator) if (!each.toString().matches(".*\\.fd[tmx]")) bytes += Files.size(each);
    }
    return bytes;
  }

  private Document documentOf(JsonNode source, String line) {
    Document document = new Document();
    document.add(new StoredField("_source", new BytesRef(line)));
    for (FieldSpec field : fields) {
      JsonNode value = source.get(field.name());
      if (value == null || value.isNull()) continue;
      if (field.type().startsWith("string")) {
        for (JsonNode each : value.isArray() ? value : JSON.createArrayNode().add(value)) {
          document.add(new TextField(field.name(), each.asText(), Field.Store.NO));
          if (field.facet()) {
            document.add(new SortedSetDocValuesField(field.name(), new BytesRef(each.asText())));
            document.add(new StringField(field.name() + "#", normal(each.asText()), Field.Store.NO));
          }
        }
      } else if (field.type().equals("bool")) {
        document.add(new StringField(field.name() + "#", value.asText(), Field.Store.NO));
      } else {
        document.add(new DoublePoint(field.name(), value.asDouble()));
        if (field.name().equals(sortingField)) document.add(new NumericDocValuesField(field.name(), value.asLong()));
      }
    }
    return document;
  }

  private List<String> tokens(String text) throws IOException {
    List<String> all = new ArrayList<>();
    try (TokenStream stream = analyzer.tokenStream("q", text)) {
      CharTermAttribute term = stream.addAttribute(CharTermAttribute.class);
      stream.reset();
      while (stream.incrementToken()) all.add(term.toString());
      stream.end();
    }
    return all;
  }

  private String normal(String text) {
    try {
      return String.join(" ", tokens(text));
    } catch (IOException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private Query textQuery(List<String> words, String[] queryBy, boolean withTypos) {
    if (words.isEmpty()) return new MatchAllDocsQuery();
    BooleanQuery.Builder all = new BooleanQuery.Builder();
    for (int i = 0; i < words.size(); i++) {
      String word = words.get(i);
      boolean isLast = i == words.size() - 1;
      List<Query> ways = new ArrayList<>();
      for (int f = 0; f < queryBy.length; f++) {
        float weight = queryBy.length - f;
        Term term = new Term(queryBy[f], word);
        ways.add(new BoostQuery(new TermQuery(term), 4 * weight));
        if (isLast) ways.add(new BoostQuery(new PrefixQuery(term), 2 * weight));
        int edits = word.length() < 4 ? 0 : word.length() < 7 ? 1 : 2;
        if (withTypos && edits > 0) ways.add(new BoostQuery(new FuzzyQuery(term, edits, 0, 10, true), weight));
      }
      all.add(new DisjunctionMaxQuery(ways, 0), BooleanClause.Occur.MUST);
    }
    return all.build();
  }

  private Query filterQuery(String text) {
    BooleanQuery.Builder all = new BooleanQuery.Builder();
    Matcher clause = CLAUSE.matcher(text);
    while (clause.find()) {
      String field = clause.group(1);
      String operator = clause.group(2) == null ? "" : clause.group(2);
      String value = clause.group(3).trim();
      FieldSpec spec = fields.stream().filter(each -> each.name().equals(field)).findFirst().orElseThrow();
      if (spec.type().startsWith("string") || spec.type().equals("bool")) {
        String inner = value.startsWith("[") ? value.substring(1, value.length() - 1) : value;
        BooleanQuery.Builder any = new BooleanQuery.Builder();
        for (String each : inner.split(",(?=(?:[^`]*`[^`]*`)*[^`]*$)")) {
          String bare = each.trim().replace("`", "");
          any.add(new TermQuery(new Term(field + "#", spec.type().equals("bool") ? bare : normal(bare))), BooleanClause.Occur.SHOULD);
        }
        all.add(any.build(), BooleanClause.Occur.FILTER);
      } else {
        double low = Double.NEGATIVE_INFINITY, high = Double.POSITIVE_INFINITY;
        if (value.startsWith("[")) {
          String[] bounds = value.substring(1, value.length() - 1).split("\\.\\.");
          low = Double.parseDouble(bounds[0]);
          high = Double.parseDouble(bounds[1]);
        } else {
          double bound = Double.parseDouble(value);
          switch (operator) {
            case ">=" -> low = bound;
            case ">" -> low = DoublePoint.nextUp(bound);
            case "<=" -> high = bound;
            case "<" -> high = DoublePoint.nextDown(bound);
            default -> low = high = bound;
          }
        }
        all.add(DoublePoint.newRangeQuery(field, low, high), BooleanClause.Occur.FILTER);
      }
    }
    return all.build();
  }

  private record Answer(int found, List<String> ids, List<FacetCounts> facets) {
    ObjectNode toJson(double ms) {
      ObjectNode out = JSON.createObjectNode();
      out.put("ms", ms);
      out.put("found", found);
      ArrayNode shown = out.putArray("ids");
      ids.forEach(shown::add);
      ObjectNode counts = out.putObject("facets");
      for (FacetCounts facet : facets) {
        ArrayNode values = counts.putArray(facet.field);
        for (Object[] pair : facet.top) values.addArray().add((String) pair[0]).add((Integer) pair[1]);
      }
      return out;
    }
  }

  /** Counts the ordinals of one field over all matches. */
  private static final class FacetCounts extends SimpleCollector {
    final String field;
    SortedSetDocValues values;
    int[] counts = new int[0];
    List<Object[]> top = List.of();

    FacetCounts(String field) { this.field = field; }

    @Override protected void doSetNextReader(LeafReaderContext context) throws IOException {
      values = DocValues.getSortedSet(context.reader(), field);
      counts = new int[(int) values.getValueCount()];
    }

    @Override public void collect(int doc) throws IOException {
      if (!values.advanceExact(doc)) return;
      for (int i = values.docValueCount(); i > 0; i--) counts[(int) values.nextOrd()]++;
    }

    @Override public ScoreMode scoreMode() { return ScoreMode.COMPLETE_NO_SCORES; }

    void finish(int most) throws IOException {
      List<int[]> seen = new ArrayList<>();
      for (int ord = 0; ord < counts.length; ord++) if (counts[ord] > 0) seen.add(new int[] {ord, counts[ord]});
      seen.sort(Comparator.<int[]>comparingInt(pair -> -pair[1]).thenComparingInt(pair -> pair[0]));
      List<Object[]> kept = new ArrayList<>();
      for (int[] pair : seen.subList(0, Math.min(most, seen.size()))) kept.add(new Object[] {values.lookupOrd(pair[0]).utf8ToString(), pair[1]});
      top = kept;
    }
  }

  private Answer search(JsonNode request) throws IOException {
    List<String> words = tokens(request.path("q").asText("*").toLowerCase(Locale.ROOT));
    String[] queryBy = request.path("query_by").asText().split(",");
    String filter = request.path("filter_by").asText("");
    Answer answer = run(textQuery(words, queryBy, false), filter, request);
    return answer.found > 0 || words.isEmpty() ? answer : run(textQuery(words, queryBy, true), filter, request);
  }

  private Answer run(Query text, String filter, JsonNode request) throws IOException {
    BooleanQuery.Builder whole = new BooleanQuery.Builder().add(text, BooleanClause.Occur.MUST);
    if (!filter.isEmpty()) whole.add(filterQuery(filter), BooleanClause.Occur.FILTER);
    Sort sort = sortingField.isEmpty() ? new Sort(SortField.FIELD_SCORE) : new Sort(SortField.FIELD_SCORE, new SortField(sortingField, SortField.Type.LONG, true));
    TopFieldCollector best = TopFieldCollector.create(sort, request.path("per_page").asInt(10), Integer.MAX_VALUE);
    List<FacetCounts> facets = new ArrayList<>();
    for (String field : request.path("facet_by").asText("").split(",")) if (!field.isEmpty()) facets.add(new FacetCounts(field.trim()));
    List<Collector> collectors = new ArrayList<>(facets);
    collectors.add(best);
    searcher.search(whole.build(), MultiCollector.wrap(collectors));
    TopFieldDocs hits = best.topDocs();
    List<String> ids = new ArrayList<>();
    for (ScoreDoc hit : hits.scoreDocs) {
      BytesRef source = searcher.storedFields().document(hit.doc).getBinaryValue("_source");
      ids.add(JSON.readTree(source.bytes, source.offset, source.length).path("id").asText());
    }
    for (FacetCounts facet : facets) facet.finish(10);
    return new Answer((int) hits.totalHits.value, ids, facets);
  }
}
