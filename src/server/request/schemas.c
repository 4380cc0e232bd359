/* SPDX-License-Identifier: MIT */
#include "base/json/json.h"
#include "server/request/routes.h"

/* Members are written in single quotes, which become double ones. */
#define REF(name) "{'$ref':'#/components/schemas/" name "'}"
#define LIST(name) "{'type':'array','items':" REF(name) "}"
#define TEXT "{'type':'string'}"
#define WHOLE "{'type':'integer'}"
#define FLAG "{'type':'boolean'}"
#define TIME "{'type':['string','null'],'format':'date-time'}"
#define CUT REF("Cut")
#define CUT_VALUE REF("CutValue")
#define LENGTH "{'type':['string','number'],'description':'500ms 10s 5m 2h 30d, or seconds'}"
#define STATES "'staged','held','scheduled','ready','running','done','failed','cancelled','relayed'"
#define OBJECT(members) "{'type':'object','properties':{" members "}}"
#define CLOSED(needed, members)                                              \
    "{'type':'object','additionalProperties':false,'required':[" needed "]," \
    "'properties':{" members "}}"

#define ERROR_CODE "ErrorCode"

static const struct {
    const char *name;
    const char *text;
} schemas[] = {
    {"Anything", "{}"},
    {"Nothing", "{'type':'object','additionalProperties':false}"},
    {"Params", "{'type':'object','description':'Anything; handed to the program as it is.'}"},
    {"Labels", "{'type':'object','maxProperties':64,'additionalProperties':" TEXT "}"},
    {"Id", "{'type':'string','pattern':'^[0-9A-Za-z]{13}$'}"},
    {"State", "{'enum':[" STATES "]}"},
    {ERROR_CODE, "{}"}, /* see write_codes */
    {"Error",
     CLOSED("'error'",
            "'error':" CLOSED("'code','message'",
                              "'code':" REF(ERROR_CODE) ",'message':" TEXT ",'detail':" OBJECT(
                                  "'index':" WHOLE ",'unknown':" TEXT
                                  ",'errors':{'type':'array','items':" TEXT "}")))},
    {"Retry", OBJECT("'max':" WHOLE ",'first':" LENGTH ",'factor':{'type':'number'},'cap':" LENGTH
                     ",'jitter':{'type':'number'},'exits':{'type':'object'}")},
    {"Command",
     "{'type':['string','array'],'items':" TEXT ",'description':'For sh -c, or as argv.'}"},
    {"Destination",
     "{'oneOf':[" TEXT
     "," CLOSED("", "'queue':" TEXT ",'topic':" TEXT ",'join':" TEXT ",'signal':" TEXT
                    ",'params':" REF("Params") ",'count':" WHOLE) "]}"},
    {"Destinations", "{'oneOf':[" REF("Destination") "," LIST("Destination") "]}"},
    {"Step",
     CLOSED("",
            "'number':" WHOLE ",'name':" TEXT ",'queue':" TEXT
            ",'command':" REF("Command") ",'params':" REF(
                "Params") ",'timeout':" LENGTH
                          ",'retry':" REF(
                              "Retry") ",'on_error':{'enum':['stop','continue']},'final':" FLAG
                                       ",'on_success':" REF("Destinations") ",'on_failure':" REF(
                                           "Destinations") ",'process name':" TEXT
                                                           ",'queue name':" TEXT
                                                           ",'command line':" TEXT)},
    {"Condition",
     "{'oneOf':[" TEXT
     "," CLOSED("",
                "'job':" TEXT
                ",'on':{'enum':['success','failure','end']},'step':{'type':['integer','string']},"
                "'signal':" TEXT ",'count':" WHOLE ",'take':" FLAG) "]}"},
    {"After", "{'oneOf':[" REF("Condition") "," LIST("Condition") "]}"},
    {"StepStatus",
     "{'type':'object','required':['number'],'properties':{'number':" WHOLE
     ",'status':{'type':['integer','null']},'started_at':" TIME ",'ended_at':" TIME
     ",'start time':" TIME ",'end time':" TIME ",'text':" TEXT ",'set':{'type':'object'}}}"},
    {"JobToAdd",
     CLOSED(
         "",
         "'queue':" TEXT ",'steps':" LIST("Step") ",'progress':" LIST("StepStatus") ",'after':" REF(
             "After") ",'ref':" TEXT
                      ",'on_success':" REF("Destinations") ",'on_failure':" REF("Destinations") ",'redo':" FLAG ",'parent':" REF(
                          "Id") ",'topic':{'type':'string','description':'Of emitted jobs: published to it.'}"
                                ",'params':" REF("Params") ",'body':" TEXT ",'body_base64':" TEXT ",'labels':" REF(
                                    "Labels") ",'key':{'type':'string','maxLength':512},'delay':" LENGTH
                                              ",'due_at':" TIME
                                              ",'priority':{'type':'integer','minimum':-1000,'maximum':1000}"
                                              ",'timeout':" LENGTH
                                              ",'retry':" REF("Retry") ",'command':" REF(
                                                  "Command") ",'workdir':" TEXT
                                                             ",'env':{'type':'object','additionalProperties':" TEXT
                                                             "}")},
    {"JobsToAdd", "{'oneOf':[" REF("JobToAdd") "," LIST("JobToAdd") "]}"},
    {"PlannedStep", OBJECT("'number':" WHOLE ",'name':" TEXT ",'queue':" TEXT ",'command':" REF(
                        "Command") ",'text':" TEXT ",'final':" FLAG ",'on_error':" TEXT)},
    {"Plan", OBJECT("'queue':" TEXT ",'state':" REF("State") ",'steps':" LIST(
                 "PlannedStep") ",'known':" REF("Id"))},
    {"Added",
     OBJECT("'id':" REF("Id") ",'log_size':" WHOLE ",'ids':" LIST("Id") ",'plan':" LIST("Plan"))},
    {"ProgressEntry",
     OBJECT("'number':" WHOLE ",'name':" TEXT ",'queue':" TEXT ",'attempt':" WHOLE ",'state':" TEXT
            ",'status':{'type':['integer','null']},'cause':" TEXT ",'started_at':" TIME
            ",'ended_at':" TIME ",'worker':" TEXT ",'text':" TEXT ",'set':{'type':'object'}")},
    {"CutValue", OBJECT("'size':" WHOLE ",'start':" TEXT)},
    {"Cut", OBJECT("'params':" CUT_VALUE ",'labels':" CUT_VALUE ",'options':" CUT_VALUE
                   ",'result':" CUT_VALUE)},
    {"Job",
     OBJECT("'id':" REF(
         "Id") ",'url':" TEXT ",'queue':" TEXT
               ",'state':" REF("State") ",'reason':" OBJECT("'code':" TEXT ",'text':" TEXT ",'until':" TIME) ",'cause':" TEXT ",'params':" REF(
                   "Params") ",'body':" TEXT ",'body_base64':" TEXT
                             ",'labels':" REF(
                                 "Labels") ",'key':" TEXT ",'priority':" WHOLE ",'attempt':" WHOLE
                                           ",'lost':" WHOLE ",'created_at':" TIME ",'due_at':" TIME
                                           ",'started_at':" TIME ",'finished_at':" TIME
                                           ",'lease_until':" TIME ",'text':" TEXT
                                           ",'last_line':" TEXT ",'cut':" CUT ",'version':" TEXT
                                           ",'done':" WHOLE ",'total':" WHOLE ",'unit':" TEXT
                                           ",'expected_at':" TIME
                                           ",'result':{},'cursor':{},'exit':" WHOLE
                                           ",'worker':" TEXT ",'timeout':" LENGTH
                                           ",'retry':" REF("Retry") ",'command':" REF(
                                               "Command") ",'workdir':" TEXT
                                                          ",'env':{'type':'object'},'limits':{'type':'object'},'cancelling':" FLAG
                                                          ",'progress':" LIST("ProgressEntry") ",'step':" WHOLE ",'steps':" LIST("Step") ",'set':{'type':'object'},'after':{'type':'array'},'on_success':" REF(
                                                              "Destinations") ",'on_failure':" REF("Destinations") ",'parent':" REF("Id") ",'topic':" TEXT)},
    {"Jobs", OBJECT("'jobs':" LIST("Job") ",'cursor':{'type':['string','null']}")},
    {"Patch", CLOSED("", "'due_at':" TIME ",'priority':" WHOLE
                         ",'params':" REF("Params") ",'labels':" REF("Labels") ",'version':" TEXT)},
    {"RetrySet", CLOSED("", "'params':" REF("Params") ",'set':" REF(
                                "Params") ",'from':{'type':['integer','string']},'alone':" FLAG)},
    {"CloneParams", CLOSED("", "'params':" REF("Params"))},
    {"MoveTo", CLOSED("'queue'", "'queue':" TEXT)},
    {"Acted", OBJECT("'id':" REF("Id") ",'state':" REF(
                  "State") ",'cancelling':" FLAG ",'revived':" WHOLE ",'revived_more':" FLAG)},
    {"Deleted", OBJECT("'id':" REF("Id") ",'deleted':" FLAG)},
    {"Slots", "{'type':'object','additionalProperties':" WHOLE "}"},
    {"Reasons", "{'type':'object','additionalProperties':" TEXT "}"},
    {"Worker", CLOSED("'name'", "'name':" TEXT ",'host':" TEXT ",'pid':" WHOLE ",'version':" TEXT
                                ",'queues':" REF("Slots") ",'slots':" WHOLE ",'broken':" REF(
                                    "Reasons") ",'instance':" TEXT ",'previous':" TEXT
                                               ",'boot':" TEXT ",'leaves':" FLAG)},
    {"WorkerJob", OBJECT("'id':" REF("Id") ",'queue':" TEXT ",'started_at':" TIME)},
    {"WorkerShown",
     OBJECT("'name':" TEXT ",'host':" TEXT ",'pid':" WHOLE ",'version':" TEXT
            ",'queues':" REF("Slots") ",'slots':" WHOLE ",'broken':" REF(
                "Reasons") ",'seen_at':" TIME ",'instance':" TEXT ",'since':" TIME ",'live':" FLAG
                           ",'stopped':" FLAG ",'running':" WHOLE ",'jobs':" LIST("WorkerJob"))},
    {"LogPiece",
     CLOSED("'offset'", "'offset':" WHOLE ",'text':" TEXT ",'base64':" TEXT
                        ",'times':{'type':'array','items':{'type':'array','items':" WHOLE "}}")},
    {"LogEnd", OBJECT("'id':" REF("Id") ",'lease':" TEXT ",'size':" WHOLE)},
    {"FinishItem",
     CLOSED(
         "'id','lease','state'",
         "'id':" REF(
             "Id") ",'lease':" TEXT
                   ",'state':{'enum':['done','failed','later','returned','cancelled','lost']},'exit':{'type':["
                   "'integer','null']},'cause':{'enum':['exit','signal','timeout','memory','lost','start',"
                   "'protocol','cancelled','dependency',null]},'text':" TEXT
                   ",'set':{'type':'object'},'result':{},'delay':" LENGTH ",'final':" FLAG
                   ",'emit':" LIST(
                       "JobToAdd") ",'raise':{'type':'object','additionalProperties':" WHOLE
                                   "},'steps':" LIST("Step") ",'log':" REF("LogPiece"))},
    {"TouchItem", CLOSED("'id','lease'",
                         "'id':" REF("Id") ",'lease':" TEXT ",'text':" TEXT ",'done':" WHOLE
                                           ",'total':" WHOLE ",'unit':" TEXT
                                           ",'left':{'type':['string','number','null']},'log':" REF(
                                               "LogPiece"))},
    {"Claim", CLOSED("'queues'",
                     "'worker':{'oneOf':[" TEXT "," REF(
                         "Worker") "]},'queues':{'type':'object',"
                                   "'additionalProperties':" WHOLE "},'max':" WHOLE
                                   ",'wait':" LENGTH ",'lease':" LENGTH ",'all':" FLAG
                                   ",'definitions':" WHOLE ",'commands':" FLAG ",'wake':" FLAG
                                   ",'finish':" LIST("FinishItem") ",'touch':" LIST("TouchItem"))},
    {"Result", OBJECT("'id':" REF("Id") ",'ok':" FLAG ",'again':" FLAG ",'state':" TEXT
                                        ",'error':" OBJECT("'code':" TEXT ",'message':" TEXT))},
    {"Lease", OBJECT("'id':" REF("Id") ",'lease':" TEXT)},
    {"ClaimedJob",
     OBJECT("'id':" REF(
         "Id") ",'url':" TEXT ",'queue':" TEXT ",'attempt':" WHOLE
               ",'params':" REF("Params") ",'body':" TEXT ",'body_base64':" TEXT ",'labels':" REF(
                   "Labels") ",'key':" TEXT ",'priority':" WHOLE ",'created_at':" TIME
                             ",'lease':" TEXT ",'lease_until':" TIME
                             ",'cursor':{},'log_size':" WHOLE ",'lost':" WHOLE ",'timeout':" LENGTH
                             ",'command':" REF(
                                 "Command") ",'workdir':" TEXT
                                            ",'env':{'type':'object'},'limits':{'type':'object'},'step':" OBJECT(
                                                "'number':" WHOLE ",'name':" TEXT
                                                ",'final':" FLAG))},
    {"Claimed",
     OBJECT("'jobs':" LIST("ClaimedJob") ",'results':" LIST("Result") ",'lost':" LIST(
         "Lease") ",'cancel':" LIST("Lease") ",'definitions':" WHOLE ",'logs':" LIST("LogEnd"))},
    {"Finish", CLOSED("'finish'", "'finish':" LIST("FinishItem"))},
    {"Finished", OBJECT("'results':" LIST("Result") ",'logs':" LIST("LogEnd"))},
    {"Touch", CLOSED("'touch'", "'touch':" LIST("TouchItem"))},
    {"Touched",
     OBJECT("'lost':" LIST("Lease") ",'cancel':" LIST("Lease") ",'logs':" LIST("LogEnd"))},
    {"Emit",
     CLOSED("'id','lease','seq'",
            "'id':" REF("Id") ",'lease':" TEXT ",'seq':{'type':'integer','minimum':1},'jobs':" LIST(
                "JobToAdd") ",'visible':" FLAG ",'cursor':{}")},
    {"Emitted", OBJECT("'ids':" LIST("Id"))},
    {"LogSize", OBJECT("'size':" WHOLE)},
    {"Filter",
     CLOSED("", "'queue':" TEXT ",'state':{'type':['string','array'],'items':" REF(
                    "State") "},'labels':" REF("Labels") ",'text':" TEXT ",'older':" LENGTH
                                                         ",'since':" TEXT)},
    {"BulkToDo",
     CLOSED(
         "'action','filter'",
         "'action':{'enum':['cancel','retry','hold','release','now','move','delete']},'filter':" REF(
             "Filter") ",'queue':" TEXT ",'alone':" FLAG)},
    {"Bulk", OBJECT("'id':" REF("Id") ",'action':" TEXT
                                      ",'state':{'enum':['working','done']},'changed':" WHOLE
                                      ",'refused':" WHOLE ",'created_at':" TIME
                                      ",'finished_at':" TIME ",'dry_run':" FLAG ",'jobs':" WHOLE
                                      ",'more':" FLAG ",'examples':" LIST("Job"))},
    {"Bulks", OBJECT("'bulk':" LIST("Bulk"))},
    {"StateCounts", "{'type':'object','additionalProperties':" WHOLE "}"},
    {"QueueDefinition",
     "{'type':'object','description':'The keys of a queue in a definition file.'}"},
    {"BrokenOn", OBJECT("'worker':" TEXT ",'host':" TEXT ",'text':" TEXT)},
    {"Queue", OBJECT("'name':" TEXT ",'state':{'enum':['up','pause','drain','down']},'why':" OBJECT(
                  "'text':" TEXT
                  ",'at':" TIME) ",'served':" FLAG
                                 ",'broken':" LIST("BrokenOn") ",'counts':" REF(
                                     "StateCounts") ",'next':" REF("Id") ",'next_created_at':" TIME
                                                                         ",'changed_at':" TIME
                                                                         ",'restarts':" WHOLE
                                                                         ",'definition':" REF(
                                                                             "QueueDefinition"))},
    {"Queues", OBJECT("'definitions':" WHOLE ",'queues':" LIST("Queue"))},
    {"QueueState", OBJECT("'name':" TEXT ",'state':" TEXT)},
    {"QueueRestarted", OBJECT("'name':" TEXT ",'restarts':" WHOLE)},
    {"QueueLogLine", OBJECT("'at':" TIME ",'what':" TEXT ",'text':" TEXT)},
    {"QueueLog", OBJECT("'log':" LIST("QueueLogLine"))},
    {"QueueDeleted", OBJECT("'name':" TEXT ",'deleted':" FLAG)},
    {"JoinDefinition",
     CLOSED("'count','then'", "'key':" TEXT ",'count':" WHOLE ",'then':" REF("Destinations"))},
    {"Definitions",
     CLOSED(
         "",
         "'queues':{'type':'object','additionalProperties':" REF(
             "QueueDefinition") "},'joins':{'type':'object','additionalProperties':" REF("JoinDefinition") "}")},
    {"Topic", OBJECT("'name':" TEXT ",'queues':{'type':'array','items':" TEXT "}")},
    {"Topics", OBJECT("'topics':" LIST("Topic"))},
    {"Publish",
     CLOSED("", "'params':" REF("Params") ",'body':" TEXT ",'body_base64':" TEXT ",'labels':" REF(
                    "Labels") ",'priority':{'type':'integer','minimum':-1000,'maximum':1000},"
                              "'key':{'type':'string','maxLength':512}")},
    {"Published", OBJECT("'ids':" LIST("Id"))},
    {"Subscribe", CLOSED("'worker'", "'worker':" TEXT ",'lifetime':" LENGTH)},
    {"Subscribed", OBJECT("'queue':" TEXT)},
    {"Raise", CLOSED("", "'count':{'type':'integer','minimum':1}")},
    {"SignalLevel", OBJECT("'name':" TEXT ",'count':" WHOLE)},
    {"Signal", OBJECT("'name':" TEXT ",'count':" WHOLE ",'changed_at':" TIME ",'waiters':" WHOLE
                      ",'waiting':{'type':'array','items':" OBJECT(
                          "'id':" REF("Id") ",'count':" WHOLE ",'take':" FLAG) "}")},
    {"Signals", OBJECT("'signals':" LIST("Signal") ",'cursor':{'type':['string','null']}")},
    {"Arrivals", OBJECT("'key':" TEXT ",'count':" WHOLE ",'first_at':" TIME ",'jobs':" LIST("Id"))},
    {"Join",
     OBJECT("'name':" TEXT ",'key':" TEXT ",'count':" WHOLE ",'then':" REF(
         "Destinations") ",'fired':" WHOLE ",'fired_at':" TIME ",'keys':" WHOLE
                         ",'arrivals':" LIST("Arrivals") ",'cursor':{'type':['string','null']}")},
    {"Joins", OBJECT("'joins':" LIST("Join") ",'cursor':{'type':['string','null']}")},
    {"Arrive", CLOSED("", "'params':" REF("Params"))},
    {"Arrived", OBJECT("'name':" TEXT ",'key':" TEXT ",'count':" WHOLE ",'fired':" FLAG)},
    {"JoinCleared", OBJECT("'name':" TEXT ",'cleared':" WHOLE)},
    {"Changes", OBJECT("'changes':{'type':'array','items':" OBJECT(
                    "'kind':" TEXT ",'name':" TEXT ",'change':" TEXT) "},'dry_run':" FLAG)},
    {"Workers", OBJECT("'workers':" LIST("WorkerShown"))},
    {"Counts", OBJECT("'counts':{'type':'object','additionalProperties':" REF(
                   "StateCounts") "},'states':" REF("StateCounts"))},
    {"Server",
     OBJECT("'version':" TEXT ",'pid':" WHOLE ",'state':" TEXT ",'started_at':" TIME
            ",'uptime':" WHOLE ",'url':" TEXT ",'listen':" TEXT ",'socket':" TEXT
            ",'connections':" WHOLE ",'waiting':" WHOLE ",'disk_free':" WHOLE
            ",'worker':{'type':['object','null'],'properties':{'name':" TEXT ",'state':" TEXT
            ",'pid':{'type':['integer','null']},'restarts':" WHOLE ",'slots':" WHOLE "}}"
            ",'store':" REF("ServerStore") ",'servers':" LIST("SharingServer"))},
    {"ServerStore",
     OBJECT("'kind':" TEXT ",'path':" TEXT ",'url':" TEXT ",'up':" FLAG ",'version':" WHOLE
            ",'bytes':" WHOLE ",'wal_bytes':" WHOLE ",'free_bytes':" WHOLE)},
    {"SharingServer",
     OBJECT("'node':" WHOLE ",'name':" TEXT ",'host':" TEXT ",'pid':" WHOLE ",'version':" TEXT
            ",'url':" TEXT ",'joined_at':" TIME ",'alive_until_at':" TIME ",'self':" FLAG)},
    {"BackupTo", CLOSED("'dir'", "'dir':" TEXT)},
    {"BackedUp", OBJECT("'dir':" TEXT ",'bytes':" WHOLE)},
    {"CheckHow", CLOSED("", "'full':" FLAG)},
    {"Checked", OBJECT("'ok':" FLAG ",'findings':{'type':'array','items':" TEXT "}")},
};

const char *schema_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(schemas); i++)
        if (strcmp(schemas[i].name, name) == 0)
            return schemas[i].text;
    return NULL;
}

static void write_codes(struct buf *out)
{
    buf_add_str(out, "{\"enum\":[");
    for (unsigned code = E_OK + 1; code < ERR_CODE_COUNT; code++) {
        json_add_comma(out);
        json_add_string(out, slice_of(err_name((enum err_code)code)));
    }
    buf_add_str(out, "]}");
}

static void write_text(struct buf *out, const char *text)
{
    for (const char *p = text; *p != '\0'; p++)
        buf_add_char(out, *p == '\'' ? '"' : *p);
}

void schemas_write(struct buf *out)
{
    buf_add_char(out, '{');
    for (size_t i = 0; i < ARRAY_LEN(schemas); i++) {
        json_add_key(out, schemas[i].name);
        if (strcmp(schemas[i].name, ERROR_CODE) == 0)
            write_codes(out);
        else
            write_text(out, schemas[i].text);
    }
    buf_add_char(out, '}');
}
